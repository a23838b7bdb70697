"""What a caller may use, for lists that are shown to it."""

from sshfacts.commands.settings import CallerSettings, Host
from sshfacts.commands.site import Site
from sshfacts.permission.decision import host_allowed


def usable(site: Site, caller: CallerSettings) -> dict[str, tuple[Host, ...]]:
    """Return the names of operations that `decide` does not deny the caller, each with its hosts, both in order.

    This is for showing: whether a call may run is decided anew for each, from the files and the request alone.
    """
    known = sorted(site.require_settings().hosts.values(), key=lambda host: host.alias)
    found: dict[str, tuple[Host, ...]] = {}
    for name, operation in sorted(site.operations.items()):
        hosts = tuple(host for host in known if host_allowed(site, caller, operation, host.alias))
        if operation.grants <= caller.grants and hosts:
            found[name] = hosts
    return found
