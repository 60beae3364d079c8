"""The tools, one file for each domain. They speak to services and to nobody else."""
