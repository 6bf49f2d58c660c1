package whole_test

import (
	"os"
	"strconv"
	"testing"

	"example.com/app/whole"
	"github.com/leakgate/leakgate/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.VerifyTestMain(m) }

func TestAdd(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("ITEMS"))
	if err != nil {
		t.Fatal(err)
	}
	whole.Add(n)
}

func BenchmarkAdd(b *testing.B) {
	for b.Loop() {
		whole.Add(1)
	}
}
