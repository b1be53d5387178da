package sim

import (
	"os"
	"strings"
	"testing"
)

// The plans in testdata fail when a guard is off. TestASwitchedOffGuardIsFound runs them so. Shrink has found the one of the cursor.
func TestKnownPlansFailOnlyWithoutTheirGuard(t *testing.T) {
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(file.Name(), ".json"), func(t *testing.T) {
			plan, err := Load("testdata/" + file.Name())
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if result := Simulate(t, plan, true); len(result.Findings) > 0 {
					t.Fatalf("%s\n%s", plan, describe(result))
				}
			}
		})
	}
}
