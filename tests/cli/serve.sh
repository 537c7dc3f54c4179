# SPDX-License-Identifier: MIT
# Tests neso inspect --serve: the page follows the file and its form; only this machine's own page may send requests; a build after a
# save takes less than 50 ms.
set -u
status=0
say() { echo "$*"; status=1; }
printf '%s\n' 'import torch, triton, triton.language as tl' '@triton.jit' 'def scale(X, Y, n, BLOCK: tl.constexpr):' \
    '    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)' '    tl.store(Y + i, tl.load(X + i, mask=i < n) * 2.5, mask=i < n)' \
    'x = torch.ones(1000, device="cuda")' 'scale[(4,)](x, x, 1000, BLOCK=256)' >scale.py

"$NESO" inspect scale.py::scale --serve >address 2>errors &
server=$!
trap 'kill $server 2>/dev/null' EXIT
for _ in $(seq 3000); do [ -s address ] && break; sleep 0.02; done
port=$(sed -nE 's|^http://127\.0\.0\.1:([0-9]+)/$|\1|p' address)
[ -n "$port" ] || { say "no address: $(cat address errors)"; exit 1; }

ask() { # METHOD TARGET [BODY] [HEADER]: sends a request, and stores the response in the file `answer`
    exec 3<>"/dev/tcp/127.0.0.1/$port" || return
    printf '%s %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n%sContent-Length: %d\r\n\r\n%s' "$1" "$2" "$port" "${4:+$4$'\r\n'}" "${#3}" "$3" >&3
    cat <&3 >answer
    exec 3>&-
}
has() { grep -qF -- "$1" answer || { say "$2 lacks '$1':"; head -c 600 answer; echo; }; }

ask GET / '' && has 'HTTP/1.1 200 OK' page && has '"kernel": "scale"' page && has '"serve": {"targets": ["sm_80", ' page
has '"signature": "*fp32:16, *fp32:16, i32, 256"' "page (its launch)"
ask GET '/build.json?target=sm_80&num_warps=2' '' && has '"target": "sm_80"' build && has '"num_warps": 2' build
ask GET '/build.json?signature=*fp32%2C+*fp32%2C+i32%2C+512' '' && has '"signature": "*fp32, *fp32, i32, 512"' build
ask GET '/build.json?signature=*fp32%2C+*fp32%3A16%2C+i32%2C+256&complete=1' '' && has '"needs": "X:16' 'a complete build'
ask GET '/build.json?signature=*fp32%2C+*fp32%3A16%2C+i32%2C+256' '' && ! grep -qF '"needs"' answer || say "a quick build looks for promises"
ask GET / '' && has 'if (!complete) rebuild(true);' 'a page, which asks for what takes longer wherever it is served,'
ask GET '/build.json?num_warps=many' '' && has '"build": null' 'a wrong number' && has "expected a number from 1 up, found 'many'" 'a wrong number'
ask GET '/build.json?target=sm_1' '' && has '"build": null' 'an unknown target' && has 'unknown target' 'an unknown target'
ask POST '/build.json?' "$(sed 's/2\.5/7.5/' scale.py)" && has '* 7.5, mask=i' 'an edited source'
ask POST '/build.json?' 'def (' && has '"build": null' 'an error' && has '"messages": "scale.py:1:5: error: ' 'an error'
ask GET /template.html '' && has '>@DATA@</script>' template

ask POST '/build.json?kernel=' "$(head -n 5 scale.py)" && has '"signature": "' 'a kernel that is not launched' && has '"build": {' 'a kernel that is not launched'

# After a save, the listener receives an event, and the next build uses the new text.
signature='signature=*fp32:16,*fp32:16,i32,256'
exec 4<>"/dev/tcp/127.0.0.1/$port" && printf 'GET /events HTTP/1.1\r\nHost: localhost:%s\r\n\r\n' "$port" >&4
while IFS= read -r -t 5 line <&4 && [ "$line" != 'retry: 500' ]; do :; done
sed 's/2\.5/3.25/' scale.py >new && mv new scale.py
heard=
while IFS= read -r -t 5 line <&4; do case $line in data:*) heard=1; break ;; esac; done
[ -n "$heard" ] || say "no event after a save"
exec 4>&-
ask GET "/build.json?$signature" '' && has '* 3.25, mask=i' 'the build after a save'
for _ in 1 2 3; do # finds the shortest of three times, because the machine may be busy
    ask GET "/build.json?$signature" ''
    echo "$(sed -nE 's/.*"ms": ([0-9]+)\.[0-9]+, "messages": "".*/\1/p' answer)"
done | sort -n | head -n 1 >least
[ "$NESO_BUILD" != build ] || [ "$(cat least)" -lt 50 ] || say "a build takes $(cat least) ms"

# Requests of other origins are refused, and malformed requests do not end the server.
ask GET / '' 'Origin: http://example.com' && has '403 Forbidden' 'another page'
exec 3<>"/dev/tcp/127.0.0.1/$port" && printf 'GET / HTTP/1.1\r\nHost: example.com:%s\r\n\r\n' "$port" >&3 && cat <&3 >answer
has '403 Forbidden' 'another host'
ask PUT / '' && has '405 Method' 'another method'
ask GET /etc/passwd '' && has '404 Not Found' 'another path'
for nonsense in '\r\n\r\n' 'GET\r\n\r\n' 'GET / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n' '\0\0\0\r\n\r\n'; do
    # shellcheck disable=SC2059
    exec 3<>"/dev/tcp/127.0.0.1/$port" && printf "$nonsense" >&3 && timeout 60 cat <&3 >answer
    has 'HTTP/1.1 4' "nonsense '$nonsense'"
done
ask GET / '' && has '200 OK' 'the page after all that'
kill -0 $server || say "the server has ended: $(cat errors)"
kill $server 2>/dev/null

"$NESO" inspect scale.py --serve=port >out 2>err; [ $? = 2 ] && grep -q "expected a port from 1 to 65535, found 'port'" err || say "a wrong port: $(cat err)"
"$NESO" inspect absent.py --serve >out 2>err; [ $? = 2 ] && grep -q 'cannot read absent.py' err || say "an absent file: $(cat err)"
exit $status
