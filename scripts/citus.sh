#!/bin/sh
# A Citus cluster on this machine: a coordinator and two workers, on ports of 127.0.0.1.
#
#   scripts/citus.sh start FOLDER [PORT]   makes and starts it in a new folder; prints the settings of npm run test:citus
#   scripts/citus.sh kill FOLDER           kills all processes of the first worker at once
#   scripts/citus.sh again FOLDER          starts the first worker again
#   scripts/citus.sh stop FOLDER           stops it
#   scripts/citus.sh test                  runs the tests on the cluster that UNDERTEXT_CITUS names
#
# BIN is the folder of initdb and postgres, where Citus is installed; default: that of pg_config.
set -eu
command=${1:-} folder=${2:-}
if [ "$command" = test ]; then
  [ -n "${UNDERTEXT_CITUS:-}" ] || { echo 'Set UNDERTEXT_CITUS to the URL of a coordinator of Citus; scripts/citus.sh starts one.'; exit 1; }
  shift
  # One file at a time: a worker is killed.
  TESTS=slow exec npx vitest run --no-file-parallelism test/storage/postgres/citus test/storage/postgres/contract \
    test/storage/postgres/concurrency test/random/postgres test/random/moments test/forks/law "$@"
fi
[ -n "$folder" ] || { sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 2; }
bin=${BIN:-$(pg_config --bindir)} script=$(cd "$(dirname "$0")" && pwd)/citus.sh
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

# The server does not run as root.
as() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --clear-groups env HOME="$folder" "$@"; else "$@"; fi; }
run() { as "$bin/pg_ctl" -D "$folder/$1" -w -l "$folder/$1.log" -o "-p $2" start >/dev/null; }
sql() { as "$bin/psql" -qXAt -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$1" -U undertext -d "$2" -c "$3" >/dev/null; }

case $command in
start)
  port=${3:-9700}
  [ "$(id -u)" != 0 ] || chown postgres "$folder"
  for node in 0 1 2; do
    as "$bin/initdb" -D "$folder/$node" -U undertext -A trust -E UTF8 --locale=C --no-sync >/dev/null
    as tee -a "$folder/$node/postgresql.conf" >/dev/null <<CONF
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_preload_libraries = 'citus'
citus.enable_unsafe_triggers = on
citus.shard_count = 8
fsync = off
max_connections = 300
max_prepared_transactions = 300
CONF
    echo $((port + node)) | as tee "$folder/$node/port" >/dev/null
    run $node $((port + node))
    sql $((port + node)) postgres 'create database chats'
    sql $((port + node)) chats 'create extension citus'
  done
  sql "$port" chats "select citus_set_coordinator_host('127.0.0.1', $port), citus_add_node('127.0.0.1', $((port + 1))), citus_add_node('127.0.0.1', $((port + 2)))"
  cat <<SETTINGS
export UNDERTEXT_CITUS=postgres://undertext@127.0.0.1:$port/chats
export UNDERTEXT_CITUS_KILL='BIN=$bin $script kill $folder' UNDERTEXT_CITUS_START='BIN=$bin $script again $folder'
SETTINGS
  ;;
kill)
  main=$(head -1 "$folder/1/postmaster.pid")
  kill -KILL "$main" $(ps -A -o pid= -o ppid= | awk -v main="$main" '$2 == main { print $1 }')
  ;;
again) run 1 "$(cat "$folder/1/port")" ;;
stop) for node in 0 1 2; do as "$bin/pg_ctl" -D "$folder/$node" -m fast stop >/dev/null || true; done ;;
*) exec "$0" ;;
esac
