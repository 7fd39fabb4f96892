"""Does a test fail where the code is wrong? Small errors are put into copies of it, one at a time."""
