# make test   every test with the race detector; says what is missing, see test.sh
# make check  gofmt, go mod tidy, go vet, staticcheck, ten seconds of every fuzz target; the targets are listed in check.sh
# make bench  the benchmarks, short; BENCH picks some by name
BENCH = .

.PHONY: test check bench
test:
	./test.sh
check:
	./check.sh
bench:
	go test -run '^$$' -bench '$(BENCH)' -benchmem -benchtime 200ms ./...
