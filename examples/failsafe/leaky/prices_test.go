package prices

import (
	"context"
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
)

func TestQuoteLeavesNothingBehind(t *testing.T) {
	quote(t, 100)

	leakcheck.AssertRetained(t,
		leakcheck.Root("prices.running").MaxObjects(5), // the context itself, without children
	)
}

// TestRetained compares everything that the package retains with
// testdata/leakcheck/TestRetained.golden.
func TestRetained(t *testing.T) {
	quote(t, 100)

	leakcheck.AssertRetained(t)
}

func TestNoGrowth(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() { quote(t, 1) })
}

func quote(t *testing.T, n int) {
	t.Helper()
	for range n {
		price, err := Quote(teaExchange{}, "TEA")
		if err != nil || price != 4.2 {
			t.Fatalf("got %v, %v", price, err)
		}
	}
}

type teaExchange struct{}

func (teaExchange) Price(ctx context.Context, _ string) (float64, error) {
	return 4.2, ctx.Err()
}
