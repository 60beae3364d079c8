"""A server whose tools ask the user: `python -m tests.toolkit.asking`."""

from typing import Any

from mcp.types import InputRequiredResult

from handfast.toolkit import Args, Call, NoArgs, Toolbox, ToolError


class Folder(Args):
    name: str


class Keep(Args):
    copies: int


def make_toolbox(**more: Any) -> Toolbox:
    tools = Toolbox("folders", app=[], **more)

    @tools.write
    async def delete_folder(args: Folder, call: Call) -> str:
        """Delete a folder, if the user wants it."""
        keep = call.ask(f"How many copies of {args.name} are kept?", Keep)
        if keep is None:
            raise ToolError("conflict", "The user did not want it. Leave the folder as it is.")
        if keep.copies == 0 and call.ask("None at all?", NoArgs) is None:
            return "kept"
        call.app.append(args.name)
        return f"deleted, {keep.copies} kept, {len(call.app)} in all"

    @tools.write
    def ask_in_thread(call: Call) -> int:
        """Ask from a function that blocks."""
        answers = [call.ask("Once more?", Keep) for _ in range(2)]
        return sum(each.copies for each in answers if each is not None)

    @tools.write
    async def ask_if_possible(call: Call) -> str:
        """Ask, and do without an answer where there is none."""
        try:
            return "yes" if call.ask("Really?", NoArgs) is not None else "no"
        except ToolError as error:
            return str(error.code)

    @tools.write
    async def ask_by_the_sdk(call: Call) -> str:
        """Return a question of the SDK's."""
        return InputRequiredResult(request_state="s")  # type: ignore[return-value]  # the fault

    return tools


if __name__ == "__main__":
    make_toolbox().run()
