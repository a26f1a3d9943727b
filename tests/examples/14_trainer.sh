# Both pipelines train, and are as the figures say; the loader of each is of the same type.
program=$1
plain=$("$program" --samples 4000 --epochs 2 --workers 2)
noisy=$("$program" --samples 4000 --epochs 2 --workers 2 --noise 1)
printf '%s\n%s\n' "$plain" "$noisy"
grep -Eq '^epoch 1: loss 0\.[0-9]+, accuracy 9[0-9.]+ % 9[0-9.]+ %$' <<<"$plain"
grep -Eq '^epoch 1: loss 0\.[0-9]+, accuracy [89][0-9.]+ % [89][0-9.]+ %$' <<<"$noisy"
[[ $plain != "$noisy" ]] || { echo "the noise changed nothing"; exit 1; }
