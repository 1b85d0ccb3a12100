#!/bin/sh
# System packages that tests need: installed by apt-get when root, otherwise the command is shown.
# Without them `make test` goes on, and the tests that need them are skipped and counted.
# --dry-run shows what would be run.
set -u
found() { [ -e "$1" ]; }
missing=""
command -v curl >/dev/null || missing="$missing curl"
if ! found "${POSTGRESQL:-/usr/lib/postgresql}"/*/bin/initdb && ! command -v initdb >/dev/null; then
  missing="$missing postgresql"
fi
command -v npm >/dev/null || missing="$missing nodejs npm"
command -v java >/dev/null || found "${JAVA_HOME:-/}/bin/java" || missing="$missing openjdk-17-jre-headless"
command -v chromium >/dev/null || missing="$missing chromium"
[ -z "$missing" ] && exit 0

run="" # or echo
[ "${1:-}" = "--dry-run" ] && run="echo"
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "not installed:$missing. Tests that need them will be skipped. To run them, too: sudo apt-get install$missing"
  exit 0
fi

echo "installing$missing for the tests ..."
# The tests start servers of their own: no package is to start one.
policy=/usr/sbin/policy-rc.d
if [ -z "$run" ] && [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT INT TERM
  printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
install="apt-get install -qq -y --no-install-recommends -o Dpkg::Use-Pty=0$missing"
if ! { $run apt-get update -qq && $run $install; } </dev/null; then
  echo "could not be installed:$missing. Tests that need them will be skipped."
fi
