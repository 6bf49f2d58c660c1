package alloccode

import "strings"

// A rule says what a function of the runtime allocates: memory of the type that one of its arguments
// is, or always the same.
type rule struct {
	argument int
	prefix   string // before the type's name
	always   string // "": it depends on the argument
}

// ruleOf returns the rule of a function (go1.26, go1.27: runtime/malloc.go, slice.go, chan.go, string.go,
// iface.go, map.go, rawbyteslice).
func ruleOf(name string) (rule, bool) {
	short, ok := strings.CutPrefix(name, "runtime.")
	if !ok {
		return rule{}, false
	}
	switch {
	case strings.HasPrefix(short, "mallocgc"):
		return rule{argument: 1}, true
	case strings.HasPrefix(short, "mapassign"):
		return rule{argument: 0}, true
	case strings.HasPrefix(short, "concatstring"):
		return rule{always: "string"}, true
	case strings.HasPrefix(short, "concatbyte"):
		return rule{always: "[]uint8"}, true
	}
	switch short {
	case "newobject", "convT", "convTnoptr", "makechan", "makechan64", "makemap", "makemap64":
		return rule{argument: 0}, true
	case "newarray", "makeslice", "makeslice64", "makeslicecopy", "moveSlice", "moveSliceNoCap":
		return rule{argument: 0, prefix: "[]"}, true
	case "growslice", "growsliceNoAlias", "growsliceBuf", "growsliceBufNoAlias":
		return rule{argument: 4, prefix: "[]"}, true
	case "slicebytetostring", "slicerunetostring", "intstring", "rawstring", "rawstringtmp", "gostring":
		return rule{always: "string"}, true
	case "stringtoslicebyte", "rawbyteslice", "gobytes":
		return rule{always: "[]uint8"}, true
	case "stringtoslicerune", "rawruneslice":
		return rule{always: "[]int32"}, true
	case "makemap_small":
		return rule{always: "(headers of maps)"}, true
	}
	return rule{}, false
}

// boxOf returns the kind of the values that a function puts into interfaces, "" if it is none: the named
// type is not an argument of its, but is put beside the pointer that it returns.
func boxOf(name string) string {
	switch name {
	case "runtime.convT16":
		return "uint16"
	case "runtime.convT32":
		return "uint32"
	case "runtime.convT64":
		return "uint64"
	case "runtime.convTstring":
		return "string"
	case "runtime.convTslice":
		return "slice"
	}
	return ""
}
