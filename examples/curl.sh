#!/usr/bin/env bash
# GraphQL with nothing but curl: a mutation, a subscription by server-sent events, a query. Needs CRAWLGATE_API_KEY; CRAWLGATE_URL is
# where the service is. Usage: examples/curl.sh START_URL
set -euo pipefail
url=${CRAWLGATE_URL:-http://127.0.0.1:4000}
: "${CRAWLGATE_API_KEY:?is not set}" "${1:?is missing: the URL to start from}"

# Each operation is one POST; `-N` shows what has come without waiting for more.
graphql() {
  curl -sSN --fail-with-body "$url/graphql" -H "Authorization: Bearer $CRAWLGATE_API_KEY" \
    -H 'Content-Type: application/json' "${@:2}" -d "$1"
}

started=$(graphql '{"query":"mutation ($url: String!) { startCrawl(input: {url: $url}) { crawl { id } } }","variables":{"url":"'"$1"'"}}') ||
  { echo "${started:-The service cannot be reached at $url.}"; exit 1; }
echo "$started"
id=$(grep -oE '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}' <<<"$started") # without one the start was refused, and this script ends

subscribe() {
  graphql '{"query":"subscription ($id: ID!) { crawlUpdated(id: $id) { state phase urlsCrawled } }","variables":{"id":"'"$id"'"}}' \
    -H 'Accept: text/event-stream' || true
}

# The final state always comes, and nothing after it. A stream that ends before was cut, or the service has stopped: subscribe again.
update=
until [[ $update =~ \"(DONE|FAILED)\" ]]; do
  while read -r line; do
    [[ $line == *'{'* ]] || continue # blank lines, names of events and heartbeats
    update=${line#data: }
    echo "$update"
  done < <(subscribe)
  case $update in
    *'"code":"unavailable"'* | *'"RUNNING"'*) sleep 2 ;;
    *'"errors"'*) exit 1 ;;
  esac
done

graphql '{"query":"query ($id: ID!) { crawl(id: $id) { host state urlsCrawled findingsCount } }","variables":{"id":"'"$id"'"}}'
echo
