"""Tables of the subsidiaries, in their languages; SAP's, with their names; the warehouse's, that dbt makes; databases and books of sheets."""

TABLES = [
    # --- France
    ("subsidiaries/fr/ventes.csv", 300, "n° commande:pat=FR-99999; date:gdate; client:firm; désignation:model; quantité:int=1,9; montant HT:german=90,9000; remise:pat=9 %", {"delimiter": ";", "encoding": "cp1252"}),
    ("subsidiaries/fr/interventions.csv", 220, "intervention:pat=INT-9999; technicien:person; panne:pick=fuite,bruit,pas de chauffage,carte électronique; durée (h):german=0.5,9; facturée:pick=oui,non", {"delimiter": ";"}),
    ("subsidiaries/fr/notes_de_frais.csv", 120, "salarié:person; mois:month; repas:german=0,300; hôtel:german=0,900; péage:german=0,120", {"delimiter": ";"}),
    ("subsidiaries/fr/aides_etat.csv", 60, "dispositif:pick=MaPrimeRénov,CEE,éco-PTZ; revenu:pick=très modeste,modeste,intermédiaire; montant maximal:german=500,9000; dossiers déposés:int=1,400", {"delimiter": ";"}),
    # --- Spain
    ("subsidiaries/es/pedidos.csv", 280, "pedido:pat=ES-99999; fecha:gdate; cliente:firm; producto:model; unidades:int=1,9; importe:german=90,9000; provincia:pick=Sevilla,Vizcaya,Málaga,Zaragoza", {"delimiter": ";", "encoding": "cp1252"}),
    ("subsidiaries/es/averias.csv", 200, "aviso:pat=AV-9999; equipo:pat=NH23-999999; avería:pick=compresor,placa,fuga de gas,ventilador; técnico:person; resuelta:pick=sí,no", {"delimiter": ";"}),
    ("subsidiaries/es/proveedores_locales.csv", 60, "proveedor:firm; ciudad:city; plazo de pago (días):pick=30,60,90; homologado:pick=sí,no", {"delimiter": ";"}),
    # --- Germany
    ("subsidiaries/de/lieferscheine.csv", 320, "Lieferschein-Nr:pat=LS-999999; Datum:gdate; Kunde:firm; Artikel:model; Menge:int=1,20; Gewicht kg:german=1,480; Spediteur:pick=Dachser,DSV,Schenker", {"delimiter": ";", "encoding": "cp1252"}),
    ("subsidiaries/de/urlaubsantraege.csv", 200, "Personalnummer:EMP@; von:gdate; bis:gdate; Tage:int=1,25; genehmigt:pick=ja,nein; Vertretung:person", {"delimiter": ";", "title": ["Urlaubsanträge Werk Bremen", ""]}),
    ("subsidiaries/de/mahnungen.csv", 90, "Mahnung:pat=MA-9999; Kunde:firm; Stufe:pick=1,2,3; offener Betrag:german=20,9000; Frist:gdate", {"delimiter": ";"}),
    ("subsidiaries/de/foerderantraege_bafa.csv", 140, "Vorgang:pat=BAFA-999999; Antragsteller:person; Gebäude Baujahr:year=1900,2010; Fördersatz %:pick=25,30,35,40; bewilligt:pick=ja,nein,offen", {"delimiter": ";"}),
    ("subsidiaries/de/betriebsrat_protokoll.csv", 40, "Sitzung:gdate; Thema:pick=Schichtplan,Kantine,Überstunden,Homeoffice; Beschluss:pick=angenommen,abgelehnt,vertagt; Ja-Stimmen:int=0,11", {"delimiter": ";"}),
    # --- Poland, Japan
    ("subsidiaries/pl/zamowienia.csv", 220, "nr zamówienia:pat=PL-99999; data:gdate; klient:firm; ilość:int=1,9; wartość netto:german=90,40000; uwagi:pick=pilne,faktura pro forma,odbiór własny", {"delimiter": ";"}),
    ("subsidiaries/pl/reklamacje.csv", 100, "reklamacja:pat=RK-9999; przyczyna:pick=hałas,wyciek,uszkodzenie w transporcie; data zgłoszenia:gdate; uznana:pick=tak,nein", {"delimiter": ";"}),
    ("subsidiaries/jp/在庫.csv", 120, "品番:PR@; 品名:model; 倉庫:pick=仙台,札幌,長野; 在庫数:int=0,200; 更新日:date=2024"),
    ("subsidiaries/jp/修理依頼.csv", 90, "受付番号:pat=JP-99999; 顧客名:pick=佐藤工務店,鈴木設備,高橋建設; 症状:pick=異音,水漏れ,暖まらない; 受付日:date=2024; 完了:pick=はい,いいえ"),
    # --- SAP
    ("sap/KNA1.csv", 300, "MANDT:const=100; KUNNR:pat=0000999999; NAME1:firm; ORT01:city; PSTLZ:pat=99999; LAND1:country; KTOKD:pick=Z001,Z002; ERDAT:date=2005,2024"),
    ("sap/LFA1.csv", 160, "MANDT:const=100; LIFNR:pat=0000999999; NAME1:firm; ORT01:city; LAND1:country; STCD1:pat=99999999; SPERR:maybe=X"),
    ("sap/VBAK.csv", 400, "MANDT:const=100; VBELN:pat=0099999999; AUART:pick=TA,ZRE,KB; KUNNR:pat=0000999999; ERDAT:date; NETWR:money=90,9000; VKORG:pick=1000,2000"),
    ("sap/VBAP.csv", 500, "MANDT:const=100; VBELN:pat=0099999999; POSNR:pick=000010,000020,000030; MATNR:pat=NH-9999; KWMENG:int=1,20; NETPR:money=9,9000"),
    ("sap/MARA.csv", 300, "MANDT:const=100; MATNR:pat=NH-9999; MTART:pick=FERT,HALB,ROH; MATKL:pat=999; BRGEW:float=0.1,90,2; MEINS:pick=ST,KG,M"),
    ("sap/MARD.csv", 400, "MANDT:const=100; MATNR:pat=NH-9999; WERKS:pick=1000,1100; LGORT:pick=0001,0002; LABST:int=0,900; INSME:int=0,40"),
    ("sap/BSEG.csv", 500, "MANDT:const=100; BUKRS:pick=1000,2000; BELNR:pat=0199999999; GJAHR:pick=2023,2024; HKONT:pat=00099999; DMBTR:money=1,90000; SHKZG:pick=S,H; KOSTL:CC@"),
    ("sap/ZHR_T512.csv", 80, "LGART:pat=A999; LGTXT:pick=Grundlohn,Nachtzuschlag,Urlaubsgeld,Schichtzulage; MOLGA:pick=01,09; BETRG:german=1,900"),
    # --- the warehouse
    ("warehouse/marts/fct_sales.parquet", 700, "date_key:date; customer_key:int=1,900; product_key:int=1,240; units:int=1,9; net_revenue_eur:money=20,9000; gross_margin_eur:money=-50,3000"),
    ("warehouse/marts/dim_customer.parquet", 500, "customer_key:seq; customer_id:CU#; segment:pick=gold,silver,bronze; region:pick=north,south,west; valid_from:date; is_current:bool"),
    ("warehouse/marts/dim_product.parquet", 240, "product_key:seq; product_no:PR#; category:pick=air-water,tank,accessory; lifecycle:pick=intro,growth,mature,decline"),
    ("warehouse/marts/fct_service_cost.parquet", 400, "date_key:date; device_id:DEV@; labour_eur:money=20,900; parts_eur:money=0,900; travel_eur:money=0,300"),
    ("warehouse/staging/stg_crm__accounts.parquet", 300, "acct_id:CU#; acct_nm:firm; seg_cd:pick=G,S,B; ins_ts:time; hash_diff:hex=32"),
    ("warehouse/staging/stg_tickets__events.parquet", 400, "evt_id:hex=16; tkt_id:TI@; evt_cd:pick=OPN,ASG,CLS; evt_ts:time; usr:EMP@"),
    ("warehouse/exports/hourly_kpi_wide.csv", 60, "WIDE", {"wide": 220}),
    ("warehouse/exports/x17_final_v3.csv", 160, "c1:CU@; c2:date; c3:money=1,900; c4:yn; c5:hex=8; c6:int=0,9"),
    ("warehouse/exports/tmp_mgr_report.csv", 120, "rgn:pick=N,S,W; prd:month; rev_k:float=1,900,1; trg_k:float=1,900,1; var_pct:float=-40,40,1"),
]

# Databases: path, then tables.
DATABASES = [
    ("logistics/wms.sqlite", {
        "bins": (200, "bin:pat=A-99-99; zone:pick=bulk,shelf,cold; max_kg:int=50,1200; blocked:yn"),
        "pick_lists": (300, "pick_list:pat=PL99999; order_no:SO@; picker:EMP@; started:time; finished:time; short_picks:int=0,3"),
        "cycle_counts": (160, "bin:pat=A-99-99; counted_on:date; expected:int=0,90; counted:int=0,90; counter:EMP@"),
    }),
    ("production/mes.db", {
        "operator_logins": (200, "employee_no:EMP@; station:ST@; at:time; action:pick=in,out"),
        "serial_genealogy": (400, "unit_serial:pat=NH24-999999; component_serial:pat=CS-99999999; part_no:PA@; built_in:ST@; at:time"),
        "station_parameters": (90, "station:ST@; parameter:pick=press force,dwell time,speed; setpoint:float=1,900,1; tolerance:float=0,9,2"),
    }),
    ("hr/timeclock.sqlite3", {
        "punches": (500, "employee_no:EMP@; terminal:pick=T1,T2,T3; punched_at:time; direction:pick=in,out"),
        "public_holidays": (60, "day:date=2023,2025; holiday:pick=Easter Monday,Whit Monday,Christmas Day,Constitution Day; country:country"),
    }),
]

# Books whose sheets are years, months or regions: path, sheets, rows of each, columns, options.
BOOKS = [
    ("finance/budget.xlsx", ["2021", "2022", "2023", "2024"], 48, "cost_center:CC@; account:pick=wages,energy,rent,travel,marketing; planned_eur:money=900,900000; revised_eur:money=900,900000", {"title": ["Budget by cost center", "in EUR, approved by the board"]}),
    ("sales/price_list.xlsx", ["2022", "2023", "2024"], 90, "product_no:PR#; description:model; list_price_eur:money=90,14000; dealer_price_eur:money=60,9000; minimum_order:int=1,10", {}),
    ("hr/payroll_2024.xlsx", ["Jan", "Feb", "Mar", "Apr", "May", "Jun"], 120, "employee_no:EMP#; gross_pay_eur:money=1800,9800; overtime_hours:float=0,40,1; tax_class:pick=1,3,4,5; net_pay_eur:money=1400,6800", {"title": ["Payroll, confidential", ""]}),
    ("sales/targets_2024.xlsx", ["Nord", "Süd", "West", "Iberia", "Polska"], 30, "representative:person; quarter:pick=Q1,Q2,Q3,Q4; target_units:int=10,400; reached_units:int=0,400; bonus_eur:money=0,9000", {}),
    ("sustainability/energy_report.xlsx", ["Electricity", "Gas", "Summary"], 36, None, {}),
]

# The sheets of a book that differ.
OTHER_SHEETS = {
    "Electricity": "month:month; site:pick=Aarhus,Bremen; consumption_kwh:float=9000,400000,0; solar_own_kwh:float=0,90000,0; cost_eur:money=900,90000",
    "Gas": "month:month; site:pick=Aarhus,Bremen; gas_m3:float=100,40000,0; heating_share_pct:float=0,100,1",
    "Summary": "site:pick=Aarhus,Bremen; kpi:pick=kWh per unit,gas per sqm,renewable share; value:float=0,100,2",
}
