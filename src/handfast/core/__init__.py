"""What is right: pure rules, no clock, files, network, threads or frameworks."""
