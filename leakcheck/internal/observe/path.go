package observe

import (
	"context"

	"github.com/leakgate/leakgate/refscan"
)

// InSnapshot takes a snapshot of this process and has it used. What cannot be done is a
// *refscan.UnavailableError.
func InSnapshot(ctx context.Context, logf func(string, ...any), use func(*refscan.Snapshot) error) (err error) {
	Observing.Lock()
	defer Observing.Unlock()
	s, err := refscan.Capture(refscan.WithContext(ctx), refscan.WithLog(logf))
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := s.Close(); err == nil {
			err = closeErr
		}
	}()
	return use(s)
}
