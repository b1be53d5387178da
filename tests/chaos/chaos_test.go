//go:build real && unix

package chaos

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/childproc"
)

var (
	length  = flag.Duration("for", 10*time.Second, "how long TestChaos injects faults")
	seed    = flag.Uint64("seed", 0, "seed of the plan; 0: a new seed")
	rate    = flag.Float64("rate", 1000, "jobs a second")
	loss    = flag.Int("loss", 40, "one of this many replies to script calls is lost")
	pace    = flag.Int("pace", 1, "multiplies the number of faults")
	goBack  = flag.Bool("back", false, "let slots go back alone")
	patient = flag.Duration("patience", 90*time.Second, "remaining jobs count as stuck after no job has begun for this long")
	verbose = flag.Bool("findings", false, "print every finding, not only the first of each rule")
	record  = flag.Bool("record", false, "write the figures into testdata and docs/reliability.md")
)

func TestMain(m *testing.M) { childproc.Main(m, Roles) }

// TestChaos is `make chaos`.
func TestChaos(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64N(1_000_000)
	}
	fmt.Printf("chaos: seed %d, %v\n", *seed, *length)
	figures, found := Go(t, Options{Seed: *seed, Length: *length, Rate: *rate, Loss: *loss, Pace: *pace, GoBack: *goBack, Patience: *patient})
	shown := map[Rule]int{}
	for _, f := range found {
		if shown[f.Rule]++; *verbose || shown[f.Rule] <= 10 {
			t.Error(f)
		}
	}
	for rule, n := range shown {
		if n > 10 && !*verbose {
			t.Errorf("%s: %d more; the flag -findings shows all", rule, n-10)
		}
	}
	fmt.Println(figures)
	if *record {
		if err := Record(figures, recordedFile, document); err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		fmt.Fprintf(os.Stderr, "chaos: run it again: make chaos FOR=%v SEED=%d (with slots that go back: %v)\n", *length, *seed, *goBack)
	}
}
