"""The subcommands of ``diagnosis``, one module each: parse, call, print."""
