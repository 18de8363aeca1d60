#!/usr/bin/env bash
# Succeeds when the browser tests have a Chromium to drive; installs Debian's or Ubuntu's when run as root.
set -u
cd "$(dirname "$0")/.."
found() { for name in chromium chromium-browser google-chrome; do command -v "$name" >/dev/null 2>&1 && return 0; done; return 1; }
found && exit 0
[ -x "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "clef: installing Chromium for the browser tests"
  apt-get update -qq >/dev/null 2>&1 && apt-get install -y -qq chromium >/dev/null 2>&1
fi
found
