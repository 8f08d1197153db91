#!/bin/sh
# Makes sure that a browser is there for the tests: need_browser.sh chromium|firefox
#
# Without Chromium or Chrome there is no testing. Without Firefox its tests are skipped, so one that
# the system's packages do not offer is no failure.
set -eu

case "$1" in
    chromium) named="${CHROME_PATH:-}" names="chromium chromium-browser google-chrome" ;;
    firefox) named="${FIREFOX_PATH:-}" names="firefox-esr firefox" ;;
    *) echo "which browser? chromium or firefox" >&2; exit 2 ;;
esac
if [ -n "$named" ] && [ -x "$named" ]; then
    exit 0
fi
for name in $names; do
    if command -v "$name" >/dev/null; then
        exit 0
    fi
done

install() {
    echo "Installing $1 from the system's packages"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        "$1" fonts-dejavu-core >/dev/null
}

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq
    if [ "$1" = chromium ]; then
        install chromium
        exit 0
    fi
    # Only Debian's: what Ubuntu calls `firefox` is a snap, which headless tests cannot drive.
    if apt-cache show firefox-esr >/dev/null 2>&1; then
        install firefox-esr
        exit 0
    fi
fi
if [ "$1" = firefox ]; then
    echo "No Firefox here; its tests are skipped. FIREFOX_PATH=/path/to/firefox names one."
    exit 0
fi
cat >&2 <<'MESSAGE'
The browser tests need Chromium or Chrome. Install it, for example with
    sudo apt-get install chromium          (Debian)
or name one with CHROME_PATH=/path/to/chrome. `make test-quick` runs the tests that need no browser.
MESSAGE
exit 1
