// Package corpus is what AssertNoGrowth is held to: programs that leak, one for each way to do it,
// and healthy ones that look a little like a leak. The tests of this package are the oldest of
// them, some with other modules; the packages below have the others, in tables that package all
// judges. The driver in the folder above runs both.
package corpus
