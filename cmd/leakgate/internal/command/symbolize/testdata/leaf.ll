; The script of mcjit.c, as a compiler would write it for /scripts/leaf.script.
declare i8* @malloc(i64)

define internal i8* @script_open(i64 %n) #0 !dbg !4 {
  %p = call i8* @malloc(i64 %n), !dbg !6
  ret i8* %p, !dbg !6
}

define i8* @script_main(i64 %n) #0 !dbg !7 {
  %p = call i8* @script_open(i64 %n), !dbg !8
  ret i8* %p, !dbg !8
}

attributes #0 = { noinline optnone uwtable "frame-pointer"="all" }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, producer: "leaf", isOptimized: false, runtimeVersion: 0, emissionKind: FullDebug)
!1 = !DIFile(filename: "leaf.script", directory: "/scripts")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 7, !"Dwarf Version", i32 4}
!4 = distinct !DISubprogram(name: "script_open", scope: !1, file: !1, line: 10, type: !5, scopeLine: 10, spFlags: DISPFlagDefinition, unit: !0)
!5 = !DISubroutineType(types: !9)
!6 = !DILocation(line: 11, column: 3, scope: !4)
!7 = distinct !DISubprogram(name: "script_main", scope: !1, file: !1, line: 20, type: !5, scopeLine: 20, spFlags: DISPFlagDefinition, unit: !0)
!8 = !DILocation(line: 21, column: 3, scope: !7)
!9 = !{null}
