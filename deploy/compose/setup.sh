#!/bin/sh
# setup.sh creates the secrets of compose.yaml, once: passwords in .env, keys and tokens in secrets/. It needs the command chimed; CHIMED is its path.
set -eu
cd "$(dirname "$0")"
for made in .env secrets; do
	[ ! -e "$made" ] || { echo "setup.sh: $made exists: this would replace secrets in use" >&2 && exit 1; }
done
chimed=${CHIMED:-chimed}
hex() { od -An -N "$1" -tx1 /dev/urandom | tr -d ' \n'; }
key() { head -c 32 /dev/urandom | base64 | tr -d '\n'; }

umask 077
you=$("$chimed" token you -permission admin)
prometheus=$("$chimed" token prometheus -permission read)
line() { printf '%s\n' "$1" | sed -n "$2p"; } # 1 is the token, 2 is its line in the file of -tokens

umask 027 # the group of these files is that of the containers
mkdir secrets
{ line "$you" 2 && line "$prometheus" 2; } >secrets/tokens
line "$prometheus" 1 >secrets/prometheus-token
echo "k1:$(key)" >secrets/secret-keys

umask 077
cat >.env <<END
REDIS_PASSWORD=$(hex 32)
GRAFANA_PASSWORD=$(hex 16)
SECRETS_GROUP=$(id -g)
END
cat <<END
The token for the API, and the password of user "you" in the dashboard. It is not stored:
  export TOKEN=$(line "$you" 1)
The password of user "admin" in Grafana is in $(pwd)/.env.
END
