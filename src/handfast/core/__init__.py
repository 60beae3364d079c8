"""The rules for calls, results and schemas. Pure: no clock, files, network, threads or frameworks."""
