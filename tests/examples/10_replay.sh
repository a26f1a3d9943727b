# It learns the shortest way, on any number of workers, with the same episodes.
program=$1
one=$("$program" --workers 1)
echo "$one"
grep -q '^learned: the way takes 11 steps$' <<<"$one"
[[ $("$program" --workers 4) == "$one" ]]
[[ $("$program" --rounds 0) != *'takes 11 steps' ]]
