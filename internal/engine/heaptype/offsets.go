package heaptype

import "github.com/leakgate/leakgate/internal/engine/goruntime"

// offsets are the fields of the runtime's containers.
type offsets struct {
	mapUsed, MapDirPtr, mapDirLen      uint64
	tableIndex, tableGroups, tableMask uint64
	chanBuf, chanElems                 uint64
}

func loadOffsets(m *goruntime.Model) (o offsets, err error) {
	const maps = "internal/runtime/maps."
	for _, f := range []struct {
		to         *uint64
		typ, field string
	}{
		{&o.mapUsed, maps + "Map", "used"},
		{&o.MapDirPtr, maps + "Map", "dirPtr"},
		{&o.mapDirLen, maps + "Map", "dirLen"},
		{&o.tableIndex, maps + "table", "index"},
		{&o.tableGroups, maps + "table", "groups.data"},
		{&o.tableMask, maps + "table", "groups.lengthMask"},
		{&o.chanBuf, "runtime.hchan", "buf"},
		{&o.chanElems, "runtime.hchan", "dataqsiz"},
	} {
		off, err := m.FieldOffset(f.typ, f.field)
		if err != nil {
			return o, err
		}
		*f.to = off
	}
	return o, nil
}
