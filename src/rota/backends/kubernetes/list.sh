# All files below $1, each as "SIZE MODE ./PATH" and a null character.
cd "$1" 2>/dev/null || exit 0
find . -type f -exec sh -c 'for f; do printf "%s %s\0" "$(stat -c "%s %a" "$f")" "$f"; done' sh {} +
