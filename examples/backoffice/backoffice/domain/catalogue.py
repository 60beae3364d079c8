"""The entities of the nine domains whose tools are made from descriptions."""

from backoffice.domain.entities import Entity, choice, flag, moment, reference, text, whole

CATALOGUE: tuple[Entity, ...] = (
    Entity(
        "meta",
        "settings",
        "setting",
        "Settings of the back office itself.",
        (text("value", "What it is set to.", default=None), flag("is_locked", "Whether only operators change it.")),
    ),
    Entity(
        "meta",
        "announcements",
        "announcement",
        "What every agent should know.",
        (
            text("body", "The announcement.", default=None),
            choice("audience", "Whom it is for.", "everyone", "leads", "operators"),
            moment("valid_until", "When it is of no more interest."),
        ),
    ),
    Entity(
        "analytics",
        "reports",
        "report",
        "Reports that somebody wants regularly.",
        (
            text("question", "What the report answers.", default=None),
            choice("period", "How often it is made.", "daily", "weekly", "monthly"),
        ),
    ),
    Entity(
        "analytics",
        "metrics",
        "metric",
        "Figures that are followed over time.",
        (
            text("unit", "What is counted.", default="count"),
            whole("value", "The latest figure.", minimum=-1_000_000),
            reference("report_id", "The report it belongs to.", to="analytics_reports"),
        ),
    ),
    Entity(
        "coordination",
        "handoffs",
        "handoff",
        "Work that goes from one agent to another.",
        (
            text("from_agent", "Who hands over.", default=None),
            text("to_agent", "Who takes over.", default=None),
            choice("state", "How far it is.", "offered", "taken", "declined"),
        ),
    ),
    Entity(
        "coordination",
        "meetings",
        "meeting",
        "Meetings, with their agenda.",
        (
            text("agenda", "What it is about."),
            moment("starts_at", "When it starts."),
            whole("minutes", "How long it takes.", default=30, minimum=5, maximum=480),
        ),
    ),
    Entity(
        "quality",
        "reviews",
        "review",
        "Reviews of finished work.",
        (
            text("subject", "What was reviewed.", default=None),
            whole("score", "From 1 to 5.", default=3, minimum=1, maximum=5),
            text("remarks", "What could be better."),
        ),
    ),
    Entity(
        "quality",
        "defects",
        "defect",
        "What was found wrong.",
        (
            choice("severity", "How bad it is.", "minor", "major", "critical"),
            text("steps", "How to see it."),
            reference("review_id", "The review that found it.", to="quality_reviews"),
        ),
    ),
    Entity(
        "signals",
        "alerts",
        "alert",
        "Something that needs attention.",
        (
            choice("level", "How urgent it is.", "notice", "warning", "emergency"),
            text("source", "Where it comes from.", default=None),
            flag("is_acknowledged", "Whether somebody looks after it."),
        ),
    ),
    Entity(
        "signals",
        "subscriptions",
        "subscription",
        "Who wants to hear of which alerts.",
        (
            text("subscriber", "Who wants to hear of them.", default=None),
            choice("from_level", "From which level on.", "notice", "warning", "emergency"),
        ),
    ),
    Entity(
        "workflows",
        "definitions",
        "definition",
        "Workflows that can be run.",
        (
            text("goal", "What a run achieves.", default=None),
            whole("steps", "How many steps it has.", default=1, minimum=1, maximum=100),
        ),
    ),
    Entity(
        "workflows",
        "runs",
        "run",
        "Runs of workflows.",
        (
            reference("definition_id", "What is run.", to="workflows_definitions"),
            choice("state", "How far it is.", "waiting", "running", "finished", "failed"),
            whole("step", "The step it has reached.", maximum=100),
        ),
    ),
    Entity(
        "integrations",
        "connections",
        "connection",
        "Systems that the back office speaks to.",
        (
            text("address", "Where the system is.", default=None),
            choice("direction", "Which way things go.", "both", "in", "out"),
        ),
    ),
    Entity(
        "integrations",
        "webhooks",
        "webhook",
        "Addresses that are told when something happens.",
        (
            text("address", "Who is told.", default=None),
            text("event", "What has to happen.", default=None),
            reference("connection_id", "The system behind it.", to="integrations_connections"),
            flag("is_enabled", "Whether it is told at all.", default=True),
        ),
    ),
    Entity(
        "infrastructure",
        "hosts",
        "host",
        "Machines that things run on.",
        (
            text("region", "Where it stands.", default=None),
            whole("cores", "How many it has.", default=1, minimum=1, maximum=1024),
            choice("state", "How it is.", "up", "draining", "down"),
        ),
    ),
    Entity(
        "memory",
        "notes",
        "note",
        "What is worth remembering.",
        (
            text("body", "The note.", default=None),
            text("topic", "What it is about."),
            whole("importance", "From 0 to 10.", default=5, maximum=10),
        ),
    ),
)
