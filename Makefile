# make test     every test with the race detector; says what is missing, see test.sh
# make check    gofmt, go mod tidy, go vet, staticcheck, govulncheck where its database can be reached, ten seconds of every fuzz
#               target; the targets are listed in check.sh
# make bench    chime beside its peers, the short form: all measures on servers of its own, in less than five minutes. It needs
#               redis-server; River takes part where PostgreSQL is installed. BENCH adds flags: make bench BENCH='-peers asynq,chime'
# make gobench  the benchmarks of single functions (go test -bench), short; GOBENCH picks some by name
BENCH =
GOBENCH = .

.PHONY: test check bench gobench
test:
	./test.sh
check:
	./check.sh
bench:
	cd bench && go run . -short -within 4m30s $(BENCH)
gobench:
	go test -run '^$$' -bench '$(GOBENCH)' -benchmem -benchtime 200ms ./...
