package shop

import "context"

var (
	Base      context.Context
	Stop      context.CancelFunc
	Requests  map[context.Context]struct{}
	ByContext map[context.Context]*Session
)

// Children gives a context n children; the result cancels them.
func Children(ctx context.Context, n int) (cancel func()) {
	var all []context.CancelFunc
	for range n {
		_, cancel := context.WithCancel(ctx)
		all = append(all, cancel)
	}
	return func() {
		for _, c := range all {
			c()
		}
	}
}

func resetContexts() {
	if Stop != nil {
		Stop()
	}
	Base, Stop = context.WithCancel(context.Background())
	Requests, ByContext = map[context.Context]struct{}{}, map[context.Context]*Session{}
}
