package weather

import (
	"fmt"
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
)

func TestCloseDropsTheCache(t *testing.T) {
	serve(t, 50)

	leakcheck.AssertRetained(t,
		leakcheck.Root("weather.tenants").MaxObjects(1), // the map itself, nothing in it
		leakcheck.Type[*Forecast]().None(),
	)
}

// TestRetained compares what this package and the cache retain with
// testdata/leakcheck/TestRetained.golden.
func TestRetained(t *testing.T) {
	serve(t, 50)

	leakcheck.AssertRetained(t, leakcheck.Scope("example.com/weather", "github.com/hashicorp/golang-lru/v2/*"))
}

func TestNoGrowth(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() { serve(t, 1) })
}

// serve opens n tenants, gives each some forecasts, and closes them.
func serve(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("tenant-%d", i)
		tenant := Open(name, sunny)
		for _, city := range []string{"Bergen", "Lima", "Nairobi", "Bergen"} {
			if got, want := tenant.Forecast(city).Text, "sunny in "+city; got != want {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
		Close(name)
	}
}

func sunny(city string) *Forecast {
	return &Forecast{City: city, Text: "sunny in " + city}
}
