"""`remloom copy`: a tenant from a folder into a database, or back."""

from __future__ import annotations

import msgspec
from click import argument, option

from ....errors import InvalidInputError
from ..app import Call, command
from .reading import progress_bar


@command("copy")
@argument("source")
@argument("target")
@option("--as", "to_tenant", metavar="NAME", help="Name of the copy. [default: that of the source]")
@option(
    "--to-key",
    metavar="REF",
    help="Key of the copy, file:PATH or keyring:NAME. [default: REMLOOM_KEY]",
)
@option("--plain", is_flag=True, help="The copy of an encrypted tenant need not be encrypted.")
def copy(
    call: Call, source: str, target: str, to_tenant: str | None, to_key: str | None, plain: bool
) -> None:
    """Copy a tenant from SOURCE to TARGET, each a folder or a postgresql:// URL.

    Everything arrives as it was, and is verified by checksums. A copy that was broken off goes on
    when the command is given again. The target must be empty.
    """
    from ....memory import Home

    # A key itself would stay in the shell's history and show in the list of processes.
    if to_key is not None and not to_key.startswith(("file:", "shared-file:", "keyring:")):
        raise InvalidInputError(
            "a key never stands on a command line", remedy="give file:PATH or keyring:NAME"
        )
    with progress_bar(call, "copying") as progress:
        copied = Home(source).copy(
            target,
            tenant=call.tenant,
            to_tenant=to_tenant,
            to_key=to_key,
            plain=plain,
            progress=progress,
        )

    def view() -> str:
        from ..frame.text_formats import plural

        counts = (
            plural(copied.records, "record"),
            plural(copied.edges, "edge"),
            plural(copied.vectors, "vector"),
        )
        # a second run over a complete copy writes nothing, and verifies it all the same
        done = "copied" if copied.written else "already there:"
        line = f"{done} {', '.join(counts)}"
        if copied.resumed:
            line += f"; went on where it was, {copied.written:,} were missing"
        return f"{line}\nverified: source and copy have the same checksum {copied.checksum}"

    call.show(msgspec.to_builtins(copied), view)
