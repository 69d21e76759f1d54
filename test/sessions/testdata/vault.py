"""The few commands of Vault's command line that the documentation uses, for tests: building Vault's
own command line takes many times as long as building the tests' server."""
import json, os, sys, urllib.request


def call(method, path, body):
    request = urllib.request.Request(
        f"{os.environ['VAULT_ADDR']}/v1/{path}", json.dumps(body).encode(), {"X-Vault-Token": os.environ["VAULT_TOKEN"]}, method=method
    )
    try:
        urllib.request.urlopen(request).close()
    except urllib.error.HTTPError as error:
        sys.exit(f"{path}: {error}: {error.read().decode()}")


def field(text):
    name, _, value = text.partition("=")
    if value.startswith("@"):
        with open(value[1:]) as file:
            value = file.read()
    return name, value


match sys.argv[1:]:
    case ["secrets", "enable", path, "-version=2", "kv"]:
        call("POST", "sys/mounts/" + path.removeprefix("-path="), {"type": "kv", "options": {"version": "2"}})
    case ["auth", "enable", path, method]:
        call("POST", "sys/auth/" + path.removeprefix("-path="), {"type": method})
    case ["policy", "write", name, "-"]:
        call("PUT", "sys/policies/acl/" + name, {"policy": sys.stdin.read()})
    case ["write", path, "-"]:
        call("PUT", path, json.load(sys.stdin))
    case ["kv", "put", mount, name, *fields]:
        call("POST", f"{mount.removeprefix('-mount=')}/data/{name}", {"data": dict(map(field, fields))})
    case arguments:
        sys.exit(f"these commands know no {arguments}")
