"""The rules of the back office. Lists come as (items, total); what a rule forbids is raised as a ServiceError."""
