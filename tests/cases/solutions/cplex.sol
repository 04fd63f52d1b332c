<?xml version = "1.0" encoding="UTF-8" standalone="yes"?>
<CPLEXSolution version="1.2">
 <header
   problemName="program.mps"
   solutionName="incumbent"
   solutionIndex="-1"
   objectiveValue="-1.6309297535714575"
   solutionTypeValue="3"
   solutionTypeString="primal"
   solutionStatusValue="101"
   solutionStatusString="integer optimal solution"
   solutionMethodString="mip"
   primalFeasible="1"
   dualFeasible="1"
   MIPNodes="0"
   MIPIterations="0"
   writeLevel="1"/>
 <quality
   epInt="1.0000000000000001e-05"
   epRHS="9.9999999999999995e-07"
   maxIntInfeas="0"
   maxPrimalInfeas="0"
   maxX="3"
   maxSlack="2"/>
 <linearConstraints>
  <constraint name="M0_1" index="0" slack="0.51811023622047181"/>
  <constraint name="M0_4" index="1" slack="0.66055045871559681"/>
  <constraint name="M2_1" index="2" slack="0"/>
  <constraint name="M2_4" index="3" slack="0.44476534296028969"/>
  <constraint name="M3_1" index="4" slack="0.076190476190475032"/>
  <constraint name="M3_4" index="5" slack="0.83861386138613847"/>
  <constraint name="S0_0" index="6" slack="0"/>
  <constraint name="S0_2" index="7" slack="0"/>
  <constraint name="S0_3" index="8" slack="0"/>
  <constraint name="B0_0" index="9" slack="0"/>
  <constraint name="B0_2" index="10" slack="0"/>
  <constraint name="B0_3" index="11" slack="0"/>
  <constraint name="O0_0_0" index="12" slack="0"/>
  <constraint name="O0_2_0" index="13" slack="1"/>
  <constraint name="O0_3_0" index="14" slack="0"/>
  <constraint name="C0_0" index="15" slack="0"/>
  <constraint name="C0_1" index="16" slack="0"/>
  <constraint name="Y0_0" index="17" slack="0"/>
  <constraint name="Y0_1" index="18" slack="2"/>
  <constraint name="P0_2_2" index="19" slack="0"/>
 </linearConstraints>
 <variables>
  <variable name="w0" index="0" value="-0.14400000000000146"/>
  <variable name="w1" index="1" value="-1"/>
  <variable name="z0_1" index="2" value="1"/>
  <variable name="z0_4" index="3" value="1"/>
  <variable name="z2_1" index="4" value="0"/>
  <variable name="z2_4" index="5" value="1"/>
  <variable name="z3_1" index="6" value="1"/>
  <variable name="z3_4" index="7" value="1"/>
  <variable name="s0_0" index="8" value="2"/>
  <variable name="s0_2" index="9" value="1"/>
  <variable name="s0_3" index="10" value="2"/>
  <variable name="b0_0_0" index="11" value="1"/>
  <variable name="b0_2_0" index="12" value="0"/>
  <variable name="b0_3_0" index="13" value="1"/>
  <variable name="b0_0_1" index="14" value="1"/>
  <variable name="b0_2_1" index="15" value="1"/>
  <variable name="b0_3_1" index="16" value="1"/>
  <variable name="c0_0" index="17" value="2"/>
  <variable name="c0_1" index="18" value="3"/>
  <variable name="y0_1_1" index="19" value="1"/>
  <variable name="y0_2_2" index="20" value="1"/>
  <variable name="y0_1_2" index="21" value="1"/>
 </variables>
</CPLEXSolution>
