module github.com/chimejobs/chime/httpapi

go 1.26.0

require code.dny.dev/ssrf v0.3.0

replace github.com/chimejobs/chime => ../
