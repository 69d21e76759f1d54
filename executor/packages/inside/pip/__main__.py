import os
import sys

COMMAND = "/run/packages/bin/pip"


def installs(arguments):
    """Whether the command line is one of pip install."""
    return next((a for a in arguments if not a.startswith("-")), "") == "install"


if __name__ == "__main__":
    if installs(sys.argv[1:]) and os.environ.get("YURT_PACKAGES") != "off" and os.path.exists(COMMAND):
        os.execv(COMMAND, ["pip"] + sys.argv[1:])
    try:
        from pip._internal.cli.main import main
    except ModuleNotFoundError as error:
        sys.exit("%s: No module named pip (%s)" % (sys.executable, error))
    sys.exit(main())
