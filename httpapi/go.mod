module github.com/chimejobs/chime/httpapi

go 1.26.0

require (
	code.dny.dev/ssrf v0.3.0
	github.com/chimejobs/chime v0.0.0
	golang.org/x/oauth2 v0.37.0
	software.sslmate.com/src/go-pkcs12 v0.7.4
)

require (
	github.com/vmihailenco/msgpack/v5 v5.4.1 // indirect
	github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
	golang.org/x/crypto v0.11.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
)

replace github.com/chimejobs/chime => ../
