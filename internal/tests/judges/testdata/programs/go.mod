module example.com/seeds

go 1.26.0

require (
	github.com/leakgate/leakgate v0.0.0
	mosn.io/holmes v1.0.2
)

require (
	github.com/StackExchange/wmi v0.0.0-20190523213315-cbe66965904d // indirect
	github.com/go-ole/go-ole v1.2.4 // indirect
	github.com/hashicorp/go-syslog v1.0.0 // indirect
	github.com/rcrowley/go-metrics v0.0.0-20200313005456-10cdbea86bc0 // indirect
	github.com/shirou/gopsutil v3.20.11+incompatible // indirect
	golang.org/x/sys v0.0.0-20210809222454-d867a43fc93e // indirect
	gopkg.in/natefinch/lumberjack.v2 v2.0.0 // indirect
	mosn.io/api v0.0.0-20210204052134-5b9a826795fd // indirect
	mosn.io/pkg v0.0.0-20211217101631-d914102d1baf // indirect
)

replace github.com/leakgate/leakgate => ../../../../..
