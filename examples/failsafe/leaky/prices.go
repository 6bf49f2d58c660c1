// Package prices asks an exchange for prices, and does not wait for ever.
package prices

import (
	"context"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/timeout"
)

// running is done when the service shuts down.
var running, stop = context.WithCancel(context.Background())

// Exchange knows prices.
type Exchange interface {
	Price(ctx context.Context, symbol string) (float64, error)
}

// Stop ends all calls that are under way.
func Stop() { stop() }

// Quote returns a symbol's price, or an error after two seconds or when the service stops.
func Quote(e Exchange, symbol string) (float64, error) {
	return failsafe.With(timeout.New[float64](2 * time.Second)).
		WithContext(running).
		GetWithExecution(func(call failsafe.Execution[float64]) (float64, error) {
			return e.Price(call.Context(), symbol)
		})
}
