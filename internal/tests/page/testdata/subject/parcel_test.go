package parcel

import (
	"context"
	"testing"

	"github.com/leakgate/leakgate/leakcheck"
)

func TestHandle(t *testing.T) {
	timer := Expire()
	defer timer.Stop()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	Wait(ctx, 20)
	for n := range 100 {
		Handle(n)
	}
	leakcheck.AssertRetained(t,
		leakcheck.Root("parcel.inflight").MaxObjects(1),
		leakcheck.Type[*Request]().None(),
		leakcheck.Goroutines("parcel.Wait").None(),
	)
	for n := range 3 {
		Handle(n)
	}
	leakcheck.AssertRetained(t, leakcheck.Path("parcel.inflight.Requests[*].Body").MaxRetainedBytes(64<<10))
}

func TestRemember(t *testing.T) {
	leakcheck.AssertNoGrowth(t, Remember, leakcheck.Iterations(250)) // 4,000 calls, however busy the machine is
}

func TestForgotten(t *testing.T) {
	r := &Request{User: "forgotten", Body: make([]byte, 4<<10)}
	inflight.Requests[r.User] = r
	leakcheck.ExpectCollected(t, r, "answered")
}

func TestSmall(t *testing.T) {
	leakcheck.AssertRetained(t, leakcheck.Root("parcel.log").MaxBytes(1<<20))
}

func TestMisspelt(t *testing.T) {
	leakcheck.AssertRetained(t, leakcheck.Root("parcel.inflihgt").None())
}
