#!/usr/bin/env bash
# Run the public conformance suite against everything_server.py and everything_client.py, in every protocol version.
#
# PYTHON names the interpreter that has the package (by default python3). Needs npm; the suite and a Node.js that is new
# enough for it go into a temporary directory.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=$(command -v "${PYTHON:-python3}")
python=$(cd "$(dirname "$python")" && pwd)/$(basename "$python")
command -v npm >/dev/null || { echo "The conformance suite is an npm package, and there is no npm on this machine." >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --loglevel=error --no-audit --no-fund @modelcontextprotocol/conformance@0.2.0-alpha.12 node@22
node=$work/node_modules/node/bin/node
# npm may be set not to run the packages' own scripts; this one fetches the program for the machine at hand.
[ -x "$node" ] || (cd node_modules/node && node installArchSpecificPackage.js)

"$python" "$here/run.py" "$node" "$work/node_modules/@modelcontextprotocol/conformance/dist/index.js" "$@"
