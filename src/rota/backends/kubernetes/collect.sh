# A tar archive of the files below $2 whose names come as $3 bytes, each with a null character.
cd "$2" || exit 1
head -c "$3" >"$1/names" || exit 1
xargs -0 tar -cf - <"$1/names"
