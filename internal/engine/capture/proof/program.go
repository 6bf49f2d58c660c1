package proof

import (
	"context"

	"github.com/leakgate/leakgate/internal/engine/capture/liveread"
	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
)

// A program is this program, whose functions are read in place.
type program struct {
	x      *debuginfo.Index
	layout *liveread.Layout
	bias   uint64
	code   *goruntime.Model
}

// openProgram returns this program, which is opened once for an index. Captures take turns.
func openProgram(ctx context.Context) (*program, error) {
	x, err := snapshot.OpenIndex(ctx, func(string, ...any) {})
	if err != nil {
		return nil, err
	}
	if opened != nil && opened.x == x {
		return opened, nil
	}
	p := &program{x: x}
	if p.layout, err = layoutOf(x); err != nil {
		return nil, err
	}
	if p.bias, err = snapshot.LoadBias(x); err != nil {
		return nil, err
	}
	if p.code, err = p.layout.Code(x); err != nil {
		return nil, err
	}
	opened = p
	return p, nil
}

// opened is the result of openProgram.
var opened *program
