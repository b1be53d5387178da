# make quick    go test ./...: everything of the library on a simulated Redis; needs nothing but Go
# make test     ./test.sh: what uses the store or goroutines, with a real Redis server, a part of it with the race detector; the other modules
# make all      ./test.sh all: what CI runs
# make everything  the same without turns: all seeds, guards, users and fuzz targets, and the race detector in all four parts of the packages; before a
#               release
# make check    gofmt, go mod tidy, go vet, staticcheck, govulncheck where its database can be reached, ten seconds of every fuzz
#               target; the targets are listed in check.sh
# make bench    chime beside its peers, the short form: all measures on servers of its own, in less than five minutes. It needs
#               redis-server; River takes part where PostgreSQL is installed. BENCH adds flags: make bench BENCH='-peers asynq,chime'
# make chaos    ten minutes of faults by a new seed, and a check that nothing was lost or doubled; docs/reliability.md gets the figures.
#               FOR=60s is shorter, and then nothing is written; SEED=7 has the faults of seed 7; CHAOS adds flags: -rate, -pace, -loss
# make sim      the whole of chime under fake time with faults, by the plans of new seeds for ten minutes; FOR=1h SEED=7 as above
# make models   the models of the protocols, also the larger ones; needs spin and gcc
# make typescript  a client in TypeScript, made from openapi.yaml, against the HTTP API; needs npm and its registry
# make gobench  the benchmarks of single functions (go test -bench), short; GOBENCH picks some by name
BENCH =
GOBENCH = .
FOR = 10m
SEED = 0
CHAOS = $(if $(filter 10m,$(FOR)),-record)

.PHONY: quick test all everything check bench chaos sim models typescript gobench
quick:
	go test ./...
test:
	./test.sh
all:
	./test.sh all
everything:
	CHIME_SEEDS=all ./test.sh all
check:
	./check.sh
bench:
	cd bench && go run . -short -within 4m30s $(BENCH)
chaos:
	go test ./tests/chaos -tags real -count=1 -timeout 0 -v -run '^TestChaos$$' -back -for $(FOR) -seed $(SEED) $(CHAOS)
sim:
	GOGC=400 go test ./internal/sim -count=1 -timeout 0 -v -run '^TestRandomFaultsLoseAndDoubleNothing$$' -for $(FOR) -seed $(SEED)
models:
	./models/run.sh && ./models/run.sh large
typescript:
	cd httpapi/contract && go test -tags npm -count=1 -run TypeScript .
gobench:
	go test -run '^$$' -bench '$(GOBENCH)' -benchmem -benchtime 200ms ./...
