# Sourced by tools/install_deps.sh: how far a command is, while its output goes into a log.

trap 'exit 130' INT # Ctrl-C: a build that ends by it hasn't failed

wick_width() { tput cols 2>/dev/null || echo 80; }

# wick_tell NAME LOG: once a second, how far a command is that writes into LOG, and about how long it still takes, by the
# last "[12/80]" of ninja or "12/80 Test" of ctest; of other programs the time and their last line. On a terminal this is one
# line; elsewhere there is a line for each tenth, or a minute.
wick_tell() {
  local name=$1 log=$2 start=$SECONDS tenths=0 minutes=0 width count done all left text seconds terminal=0
  [[ -t 1 && -z ${CI:-} ]] && terminal=1
  width=$(wick_width)
  while sleep 1; do
    kill -0 $$ 2>/dev/null || return 0 # the script was stopped
    seconds=$((SECONDS - start))
    count=$(tail -c 50000 "$log" | tr '\r' '\n' | grep -aoE '^(\[[0-9]+/[0-9]+\]|[ ]*[0-9]+/[0-9]+ Test)' | tail -n 1 | tr -dc '0-9/') || count=
    if [[ -n $count ]]; then
      done=${count%/*} all=${count#*/}
      text="$done of $all, $seconds s"
      if ((20 * done >= all)); then # the first ones may be the longest
        left=$((seconds * (all - done) / done))
        text+=", about $left s left"
      fi
    else
      done=0 all=0
      text="$seconds s"
      ((terminal)) && text+=" $(tail -c 1000 "$log" | tr '\r' '\n' | grep -av '^[[:space:]]*$' | tail -n 1 | tr -d '\000-\037')"
    fi
    if ((terminal)); then
      text="wick: $name: $text"
      printf '\r\033[K%s' "${text:0:width - 1}"
    elif ((all > 0 && 10 * done / all > tenths)); then
      tenths=$((10 * done / all))
      wick_say "$name: $text"
    elif ((all == 0 && seconds / 60 > minutes)); then
      minutes=$((seconds / 60))
      wick_say "$name: $text"
    fi
  done
}

# wick_watch NAME LOG COMMAND…: runs it with its output in LOG, and says how far it is.
wick_watch() {
  local name=$1 log=$2 status=0 teller
  shift 2
  mkdir -p "$(dirname "$log")"
  : >"$log"
  wick_tell "$name" "$log" &
  teller=$!
  "$@" >"$log" 2>&1 </dev/null || status=$?
  kill "$teller" 2>/dev/null
  wait "$teller" 2>/dev/null || true
  if [[ -t 1 && -z ${CI:-} ]]; then printf '\r\033[K'; fi
  return "$status"
}
