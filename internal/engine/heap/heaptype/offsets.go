package heaptype

import (
	"github.com/leakgate/leakgate/internal/engine/runtime/goruntime"
	"github.com/leakgate/leakgate/internal/engine/runtime/rtlayout"
)

// offsets are the offsets of fields in the runtime's maps and channels.
type offsets struct {
	Map     rtlayout.Map
	table   rtlayout.MapTable
	channel rtlayout.Channel
}

func loadOffsets(m *goruntime.Model) (o offsets, err error) {
	l := m.Fields()
	l.Fill(&o.Map, &o.table, &o.channel)
	return o, l.Err()
}
