"""What `identification` asks for: how often exact rules are wrong on problems of many kinds."""
