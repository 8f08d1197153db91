#!/bin/sh
# Makes sure that a Chromium or Chrome is there for the browser tests.
set -eu

if [ -n "${CHROME_PATH:-}" ] && [ -x "$CHROME_PATH" ]; then
    exit 0
fi
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then
        exit 0
    fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing Chromium from the system's packages"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        chromium fonts-dejavu-core >/dev/null
    exit 0
fi
cat >&2 <<'MESSAGE'
The browser tests need Chromium or Chrome. Install it, for example with
    sudo apt-get install chromium          (Debian)
or name one with CHROME_PATH=/path/to/chrome. `make test-quick` runs the tests that need no browser.
MESSAGE
exit 1
