#!/usr/bin/env python3
"""Writes a small lake in nine languages, and questions to it in other inflections.

    languages.py FOLDER     FOLDER/lake, FOLDER/questions-<kind>.jsonl

Kinds: de fr es ru tr ja zh ko th (questions in the language of their table) and `cross` (English ones).
Made up for limn; no row is of a real person.
"""
import json, pathlib, sys

# Language, table, columns, rows, context, questions in its language, question in English.
T = [
("de", "kunden", "kunde_id,vorname,nachname,strasse,plz,ort,telefon", ["1,Anna,Keller,Hauptstr. 5,50667,Köln,0221 5501", "2,Jörg,Weiß,Am Markt 1,44135,Dortmund,0231 7702"], "Stammdaten der Kundinnen und Kunden mit ihrer Anschrift.", ["Wo wohnen unsere Kundinnen?", "Welcher Kunde hat welche Telefonnummer oder Anschriften?"], "where do our customers live"),
("de", "bestellungen", "bestell_nr,kunde_id,bestelldatum,lieferadresse,status,betrag", ["7001,1,2024-03-01,Köln,geliefert,89.90", "7002,2,2024-03-04,Dortmund,storniert,12.00"], "", ["die letzte Bestellung und ihr Betrag", "Beträge der stornierten Bestellung"], "amounts of cancelled orders"),
("de", "bibliothek/buecher", "isbn,titel,verlag,erscheinungsjahr,anzahl_seiten", ["978-3-1,Der lange Weg,Nordverlag,1998,320", "978-3-2,Stille Wasser,Südverlag,2005,210"], "Alle Bücher der Stadtbibliothek mit Verlag und Zahl der Seiten.", ["Wie viele Seiten hat das Buch?", "Verlage der Bücher in den Bibliotheken"], "which publishers does the library have"),
("de", "verkehr/haltestellen", "haltestelle,linie,abfahrt,gleis,stadtteil", ["Rathausplatz,U6,08:15,2,Mitte", "Hafen,S1,08:20,1,Altona"], "", ["Abfahrten an der Haltestelle Hafen", "Welche Linien halten in welchen Stadtteilen?"], "departures by stop and line"),
("de", "umwelt/messwerte", "messstelle,datum,luftfeuchte,niederschlag_mm,windgeschwindigkeit", ["Brocken,2024-01-01,93,12.4,18.2", "Zugspitze,2024-01-01,88,3.1,22.0"], "Messwerte von Wetterstationen des Landes.", ["Niederschläge an den Messstellen", "mittlere Windgeschwindigkeiten je Messstelle"], "rainfall at weather stations"),
("fr", "commandes", "numero_commande,id_client,date_commande,montant,livree", ["C1,11,2024-02-01,45.50,oui", "C2,12,2024-02-03,19.90,non"], "Les commandes des clients, livrées ou en attente.", ["quelles commandes livrées au client ?", "le montant d'une commande livrée"], "orders that were delivered"),
("fr", "employes", "matricule,nom,prenom,date_naissance,salaire,service", ["E1,Martin,Luc,1980-05-05,2500,Comptabilité", "E2,Petit,Zoé,1991-07-01,2900,Achats"], "", ["les salaires de l'employé", "employées nées après 1990 et leur prénoms"], "salaries of the employees"),
("fr", "hopitaux", "etablissement,ville,lits,urgences,region", ["Saint-Jean,Lyon,320,oui,Auvergne", "Bellevue,Nantes,210,non,Pays de la Loire"], "Établissements hospitaliers et leur nombre de lits par ville.", ["combien de lits dans l'hôpital de la ville ?", "établissement avec urgence"], "how many beds do hospitals have"),
("fr", "ecoles/eleves", "eleve,classe,moyenne,absences,annee_scolaire", ["Durand,3B,14.2,2,2023", "Moreau,4A,11.8,7,2023"], "", ["absence d'un élève par classes", "moyennes des élèves"], "grades and absences of pupils"),
("es", "pedidos", "numero_pedido,cliente,fecha_pedido,importe,enviado", ["P1,García,2024-04-01,33.10,sí", "P2,Núñez,2024-04-02,78.00,no"], "Pedidos de los clientes con su importe y si fueron enviados.", ["¿cuál es el importe del pedido enviado?", "pedidos no enviados de una clienta"], "orders that were not shipped"),
("es", "empleados", "empleado,apellido,salario,departamento,fecha_contrato", ["1,López,1800,Ventas,2019-01-01", "2,Ruiz,2100,Compras,2020-06-01"], "", ["salarios de las empleadas por departamentos", "contratos de cada empleada"], "salary by department"),
("es", "municipios", "municipio,provincia,poblacion,superficie,alcalde", ["Alcoy,Alicante,59000,129,Soler", "Úbeda,Jaén,34000,397,Olivares"], "Población y superficie de los municipios de cada provincia.", ["poblaciones del municipio más grande", "alcaldes y alcaldesas por provincias"], "population of towns and their mayors"),
("es", "biblioteca/libros", "titulo,autor,editorial,paginas,prestado", ["La casa azul,Vega,Norte,210,no", "El río,Mora,Sur,180,sí"], "", ["autora y títulos del libro prestado", "cuántas páginas tienen los libros prestados"], "books that are lent, with their authors"),
("ru", "клиенты", "номер,фамилия,имя,город,телефон", ["1,Иванова,Анна,Казань,8431", "2,Петров,Олег,Пермь,3422"], "Клиенты магазина и их телефоны.", ["телефон клиента из города", "фамилии клиенток по городам"], "phone numbers of customers"),
("ru", "заказы", "заказ,дата_заказа,сумма,доставлен,склад", ["101,2024-05-01,1500,да,Северный", "102,2024-05-02,700,нет,Южный"], "", ["сумма доставленного заказа", "какие заказы со складов не доставлены"], "orders by warehouse"),
("ru", "больницы", "больница,область,койки,врачи,отделение", ["Первая,Омская,300,45,хирургия", "Вторая,Томская,180,30,терапия"], "Число коек и врачей в больницах по областям.", ["сколько коек в больнице области", "врач отделений больницы"], "beds and doctors of hospitals"),
("tr", "musteriler", "musteri_no,adi,soyadi,sehir,telefon", ["1,Ayşe,Yılmaz,İzmir,0232", "2,Can,Demir,Ankara,0312"], "Müşterilerin adları ve şehirleri.", ["müşterimizin şehri nedir", "müşteri telefonları ve soyadları"], "customers and the cities they are from"),
("tr", "siparisler", "siparis_no,musteri_no,tarih,tutar,teslim_edildi", ["11,1,2024-06-01,250,evet", "12,2,2024-06-02,90,hayır"], "", ["teslim edilen siparişin tutarı", "hangi siparişler teslim edilmedi, tutarları"], "order totals and dates"),
("tr", "okullar/ogrenciler", "ogrenci_no,sinif,ders,notu,ogretmen", ["5,9A,Matematik,85,Kaya", "6,9B,Tarih,70,Aslan"], "Öğrencilerin derslerdeki notları.", ["öğrencinin derslerinin notları", "öğretmenlerin sınıfları ve dersleri"], "marks of students by class"),
("ja", "顧客", "顧客番号,氏名,住所,電話番号,登録日", ["1,佐藤花子,東京都港区,03-1111,2023-01-05", "2,鈴木一郎,京都市左京区,075-222,2023-02-07"], "お客様の住所と電話番号の一覧。", ["顧客の電話番号は何ですか", "東京の顧客の住所"], "addresses of customers"),
("ja", "注文", "注文番号,顧客番号,注文日,金額,配送状況", ["A1,1,2024-01-02,3500,配送済み", "A2,2,2024-01-03,1200,準備中"], "", ["配送済みの注文の金額", "注文ごとの配送状況を教えてください"], "amount and delivery of orders"),
("ja", "社員名簿", "社員番号,部署,役職,給与,入社日", ["S1,営業部,部長,600000,2010-04-01", "S2,経理部,係長,420000,2015-04-01"], "社員の部署と給与。", ["営業部の社員の給与", "部署別の役職と入社日"], "salaries of staff by department"),
("ja", "番組/電番表", "番地,注目度,文字,金曜,京東便", ["1,高,電話,一,京東", "2,低,話題,二,京東"], "番号と電気の話。", ["京東便の番地", "金曜の注目度"], "friday attention ranks"),
("zh", "客户", "客户编号,姓名,地址,电话,注册日期", ["1,王芳,北京市海淀区,010-88,2023-03-01", "2,李强,上海市静安区,021-66,2023-04-01"], "客户的地址和电话。", ["客户的电话是多少", "北京的客户地址"], "phone and address of clients"),
("zh", "订单", "订单编号,客户编号,下单日期,金额,发货状态", ["D1,1,2024-02-02,350,已发货", "D2,2,2024-02-03,120,未发货"], "", ["哪些订单已发货", "每个订单的金额和下单日期"], "orders and whether they were shipped"),
("zh", "医院", "医院名称,城市,床位数,科室,等级", ["人民医院,成都,1200,内科,三甲", "中心医院,武汉,800,外科,三乙"], "各城市医院的床位数和科室。", ["医院有多少床位", "成都的医院等级"], "hospital beds by city"),
("zh", "户外/京北路线", "路线,海拔,上下坡,单双号,北门", ["一,1500,上坡,单,北京路", "二,900,下坡,双,海北"], "户外的路线和海拔。", ["路线的海拔", "北门的单双号"], "hiking routes and elevation"),
("en", "customers", "customer_id,name,city,phone", ["1,Ann Lee,Leeds,0113", "2,Bob Ray,York,01904"], "Customers of the shop.", [], None),
("en", "die_casting", "die_id,die_size,pressure,les_code", ["1,20,300,L1", "2,25,280,L2"], "Dies of the foundry.", [], None),
]

# More tables of each language, alike in their subjects, and questions that hang on one inflected word.
MORE = {
"de": [("rechnungen", "rechnungsnummer,faellig_am,netto,mwst", "R1,2024-01-01,100,19", ["fällige Rechnung"]), ("lieferanten", "lieferant,ort,rabatt", "Nordholz,Kiel,3", ["Lieferantin mit Rabatten"]), ("fahrzeuge", "fahrzeug,kennzeichen,kilometer", "Kombi,K-AB 12,40000", ["Kilometer der Fahrzeugen", "Fahrzeugs Kennzeichens"]), ("schueler", "schüler,klasse,note", "Mia,7a,2", ["Noten einer Schülerin"]), ("vereine", "verein,mitglieder,gründung", "TSV,320,1901", ["Vereins gegründet Mitgliedern"]), ("wohnungen", "wohnung,zimmer,miete,fläche", "W1,3,800,75", ["Mieten der Wohnung", "Flächen"])],
"fr": [("factures", "facture,echeance,montant_ht,tva", "F1,2024-01-01,100,20", ["facturées à l'échéances"]), ("fournisseurs", "fournisseur,ville,remise", "Dubois,Lille,3", ["fournisseuse avec remises"]), ("vehicules", "véhicule,immatriculation,kilometrage", "Berline,AB-123,40000", ["immatriculations des vehicule", "immatriculé"]), ("associations", "association,adherents,creation", "Club,320,1901", ["adhérente créée"]), ("logements", "logement,pièces,loyer,surface", "L1,3,800,75", ["loyers du logement", "pièce"])],
"es": [("facturas", "factura,vencimiento,neto,iva", "F1,2024-01-01,100,21", ["facturado vencimientos"]), ("proveedores", "proveedor,ciudad,descuento", "Norte,Gijón,3", ["proveedoras con descuentos"]), ("vehiculos", "vehículo,matricula,kilometros", "Turismo,1234ABC,40000", ["matriculados kilómetro", "matrículas de vehiculo"]), ("viviendas", "vivienda,habitaciones,alquiler,superficie", "V1,3,800,75", ["alquileres de la vivienda", "habitación"])],
"ru": [("счета", "счёт,срок_оплаты,сумма,налог", "С1,2024-01-01,100,20", ["оплаченные счетами налоги"]), ("поставщики", "поставщик,город,скидка", "Север,Омск,3", ["поставщика со скидками"]), ("автомобили", "автомобиль,госномер,пробег", "Седан,А123,40000", ["пробеги автомобилей"]), ("квартиры", "квартира,комнаты,аренда,площадь", "К1,3,800,75", ["арендой квартир", "площади комнат"])],
"tr": [("faturalar", "fatura,vade,tutar,kdv", "F1,2024-01-01,100,18", ["faturanın vadesi"]), ("tedarikciler", "tedarikçi,şehir,indirim", "Kuzey,Bursa,3", ["tedarikçinin indirimleri"]), ("araclar", "araç,plaka,kilometre", "Sedan,06 AB,40000", ["araçların plakaları"]), ("konutlar", "konut,oda,kira,alan", "K1,3,800,75", ["kiraları", "konutun odaları"])],
"ja": [("請求書", "請求書番号,支払期限,金額,消費税", "R1,2024-01-01,100,10", ["消費税と支払期限"]), ("仕入先", "仕入先,所在地,割引率", "北商,札幌,3", ["仕入先の割引"]), ("車両", "車両,登録番号,走行距離", "セダン,品川12,40000", ["走行距離", "車の登録"]), ("物件", "物件,部屋数,家賃,面積", "B1,3,80000,75", ["家賃はいくら", "部屋の面積"])],
"zh": [("发票", "发票号,到期日,税额,净额", "F1,2024-01-01,100,10", ["发票税额"]), ("供应商", "供应商,所在地,折扣", "北方,沈阳,3", ["供应商折扣"]), ("车辆", "车辆,车牌号,行驶里程", "轿车,京A1,40000", ["里程", "车牌"]), ("房源", "房源,房间数,租金,面积", "B1,3,3000,75", ["租金多少", "房间面积"])],
"ko": [("고객", "고객번호,이름,주소,전화번호", "1,김민수,서울시 강남구,02-111", ["고객들의 주소는", "고객이 사는 서울"]), ("주문", "주문번호,주문일,금액,배송상태", "A1,2024-01-02,35000,배송완료", ["주문의 금액을", "배송완료된 주문들"]), ("차량", "차량,차량번호,주행거리", "세단,12가,40000", ["차량의 주행거리는"]), ("병원", "병원,도시,병상수,의사수", "중앙병원,부산,300,45", ["병원에서 병상수가"])],
"th": [("ลูกค้า", "รหัสลูกค้า,ชื่อ,ที่อยู่,โทรศัพท์", "1,สมชาย,กรุงเทพ,02-111", ["ที่อยู่ของลูกค้า"]), ("คำสั่งซื้อ", "เลขที่คำสั่งซื้อ,วันที่,ยอดเงิน", "A1,2024-01-02,350", ["ยอดเงินของคำสั่งซื้อ"]), ("โรงพยาบาล", "โรงพยาบาล,จังหวัด,เตียง", "กลาง,เชียงใหม่,300", ["จำนวนเตียงในโรงพยาบาล"])],
}
for language, tables in MORE.items():
    T.extend((language, table, columns, [row], "", questions, None) for table, columns, row, questions in tables)

def main(folder):
    folder = pathlib.Path(folder)
    kinds = {}
    for language, table, columns, rows, context, questions, english in T:
        path = folder / "lake" / language / (table + ".csv")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([columns, *rows]) + "\n")
        if context:
            path.with_suffix(".md").write_text(context + "\n")
        name = f"{language}/{table}"
        kinds.setdefault(language, []).extend((q, name) for q in questions)
        if english:
            kinds.setdefault("cross", []).append((english, name))
    for kind, questions in kinds.items():
        lines = [json.dumps({"question": q, "tables": [t]}, ensure_ascii=False) for q, t in questions]
        if lines:
            (folder / f"questions-{kind}.jsonl").write_text("\n".join(lines) + "\n")

main(sys.argv[1])
