"""Teams and who is in them, in the typed form."""

from backoffice.app_state import AppState
from backoffice.domain.organisation import Member, MemberRole, Team
from backoffice.handlers.fields import ByNumber, Key, Name, Number, Paged, Text
from backoffice.handlers.refusals import refusing
from handfast.toolkit import Args, Call, Page, Toolbox


class NewTeam(Args):
    name: Name
    """A name that no other team has."""
    purpose: Text = ""
    """What it is there for."""


class Renaming(ByNumber):
    name: Name
    """A name that no other team has."""


class MemberList(Paged):
    team_id: Number
    """The number of the team."""


class Membership(Args):
    team_id: Number
    """The number of the team."""
    agent: Key
    """The id of the agent."""


class NewMember(Membership):
    role: MemberRole = MemberRole.MEMBER
    """A team has one lead at most."""


@refusing
async def organisation_teams_list(args: Paged, call: Call) -> Page[Team]:
    """List the teams."""
    app: AppState = call.app
    items, total = await app.organisation.page(offset=args.offset, limit=args.limit)
    return Page.of(items, total, args)


@refusing
async def organisation_team_get(args: ByNumber, call: Call) -> Team:
    """Show one team."""
    app: AppState = call.app
    return await app.organisation.get(args.id)


@refusing
async def organisation_members_list(args: MemberList, call: Call) -> Page[Member]:
    """List who is in a team, longest there first."""
    app: AppState = call.app
    items, total = await app.organisation.members(args.team_id, offset=args.offset, limit=args.limit)
    return Page.of(items, total, args)


@refusing
async def organisation_team_create(args: NewTeam, call: Call) -> Team:
    """Create a team without members."""
    app: AppState = call.app
    return await app.organisation.create(name=args.name, purpose=args.purpose)


@refusing
async def organisation_team_rename(args: Renaming, call: Call) -> Team:
    """Give a team another name."""
    app: AppState = call.app
    return await app.organisation.rename(args.id, args.name)


@refusing
async def organisation_member_add(args: NewMember, call: Call) -> Member:
    """Put an agent into a team."""
    app: AppState = call.app
    return await app.organisation.add_member(args.team_id, args.agent, role=args.role)


@refusing
async def organisation_member_remove(args: Membership, call: Call) -> Team:
    """Take an agent out of a team."""
    app: AppState = call.app
    return await app.organisation.remove_member(args.team_id, args.agent)


@refusing
async def organisation_team_dissolve(args: ByNumber, call: Call) -> Team:
    """Delete a team and all its memberships for good; answers with the team as it was."""
    app: AppState = call.app
    return await app.organisation.dissolve(args.id)


def register(tools: Toolbox) -> None:
    for look in (organisation_teams_list, organisation_team_get, organisation_members_list):
        tools.read(look)
    for change in (
        organisation_team_create,
        organisation_team_rename,
        organisation_member_add,
        organisation_member_remove,
    ):
        tools.write(change)
    tools.admin(organisation_team_dissolve)
