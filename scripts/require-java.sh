#!/usr/bin/env bash
# Makes sure that Spark will find Java 17 or newer, looking where Spark looks: JAVA_HOME first, then the PATH.
# On Debian and Ubuntu as root a missing one is installed; elsewhere the message says how (exit 1).
set -euo pipefail

needs=17

java_command() {
    if [ -n "${JAVA_HOME:-}" ]; then echo "$JAVA_HOME/bin/java"; else echo java; fi
}

# "1.8.0_402" is Java 8, "17.0.15" is Java 17, "21-ea" is Java 21. Empty if there is none.
major_version() {
    "$(java_command)" -version 2>&1 | sed -n 's/.* version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1 || true
}

is_enough() {
    local major
    major="$(major_version)"
    [ -n "$major" ] && [ "$major" -ge "$needs" ]
}

if is_enough; then
    exit 0
fi

major="$(major_version)"
if [ -n "${JAVA_HOME:-}" ] && [ -n "$major" ]; then
    problem="JAVA_HOME=$JAVA_HOME is Java $major"
elif [ -n "${JAVA_HOME:-}" ]; then
    problem="JAVA_HOME=$JAVA_HOME holds no Java that runs"
elif [ -n "$major" ]; then
    problem="the java on the PATH is Java $major"
else
    problem="there is none on the PATH and JAVA_HOME is not set"
fi

package=""
if command -v apt-get >/dev/null 2>&1; then
    package="openjdk-$needs-jre-headless"
fi

install() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || return 1
    # Newer releases have dropped 17; their default is newer still.
    apt-get install -y -qq --no-install-recommends "$package" ||
        apt-get install -y -qq --no-install-recommends default-jre-headless
}

if [ -n "$package" ] && [ -z "${JAVA_HOME:-}" ] && [ "$(id -u)" = 0 ]; then
    echo "Spark needs Java $needs or newer, but $problem: installing it with apt-get" >&2
    if ! install >&2; then
        problem="apt-get could not install it (see above)"
    else
        hash -r
        if is_enough; then
            exit 0
        fi
        problem="the java on the PATH is not the one that apt-get has installed"
    fi
fi

{
    echo "Spark needs Java $needs or newer, but $problem."
    if [ -n "${JAVA_HOME:-}" ]; then
        echo "  Point JAVA_HOME to a Java $needs or newer, or unset it to use the java on the PATH."
    elif [ -n "$package" ]; then
        echo "  Install it:  apt-get update && apt-get install -y $package   (as root)"
    elif [ "$(uname -s)" = "Darwin" ]; then
        echo "  Install it:  brew install openjdk@$needs, then  export JAVA_HOME=\"\$(brew --prefix openjdk@$needs)\""
    elif command -v dnf >/dev/null 2>&1; then
        echo "  Install it:  dnf install java-$needs-openjdk-headless"
    else
        echo "  Install a Java runtime, version $needs or newer, and put it on the PATH or set JAVA_HOME."
    fi
} >&2
exit 1
