#!/bin/sh
# Gathers in a folder what Rota needs to run, and nothing else: sh gather-image.sh FOLDER, within the image of
# the Dockerfile's target `rota`. What is linked to is found by the linker itself.
set -eu
image=$1

keep() { # PATH...: each where it really is, with what it is a link to
    for path in "$@"; do
        for real in "$(readlink -f "$(dirname "$path")")/$(basename "$path")" "$(readlink -f "$path")"; do
            tar -C / -c "${real#/}" | tar -C "$image" -x
        done
    done
}

linked_to() { # FILE...
    for file in "$@"; do
        ldd "$file" 2>/dev/null || true # not all are linked
    done | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p; s/^\t\(\/[^ ]*\) .*/\1/p' | sort -u
}

mkdir -p "$image/tmp" "$image/etc"
chmod 1777 "$image/tmp"
python=$(readlink -f /opt/rota/bin/python)
library=$("$python" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
keep "$python" /usr/bin/python3 "$library" /opt/rota /etc/ssl/certs/ca-certificates.crt /usr/share/zoneinfo
for part in ensurepip idlelib lib2to3 pydoc_data test tkinter turtledemo; do
    rm -rf "${image:?}/$library/$part"
done

# Libraries that come with a module stay where it looks for them.
modules=$(find /opt/rota "$library" -name '*.so*' -type f)
# shellcheck disable=SC2086 # one file a word
for found in $(linked_to "$python" $modules); do
    case $found in
        /opt/*) ;;
        *) keep "$found" ;;
    esac
done
# Names of hosts are looked up by these, which nothing links to.
libraries=$(dirname "$(linked_to "$python" | grep '/libc\.so')")
keep "$libraries"/libnss_dns.so.2 "$libraries"/libnss_files.so.2

# On Debian, where programs ask for their linker is a link to where it is.
for link in /lib /lib64; do
    if [ -L "$link" ]; then cp -P "$link" "$image/"; fi
done
echo 'rota:x:8426:8426::/tmp:/sbin/nologin' >"$image/etc/passwd"
echo 'rota:x:8426:' >"$image/etc/group"
echo 'hosts: files dns' >"$image/etc/nsswitch.conf"
